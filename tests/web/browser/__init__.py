"""The dashboard in a real browser: Chromium, driven by Playwright, with axe-core; tools/browser.sh installs them."""
