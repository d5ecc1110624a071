"""What the project's own files say: its Python, its shell lines, its pinned versions."""
