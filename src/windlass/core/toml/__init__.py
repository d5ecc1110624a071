"""Reading and writing TOML: the shapes of files, the layers of settings, the keys of run and site files."""
