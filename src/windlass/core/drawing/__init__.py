"""Pictures as text: lines over an axis and bars over time, as SVG that needs neither a script nor a style sheet."""
