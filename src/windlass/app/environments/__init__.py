"""What a user can do with environments: build, look, pack, remove; modules, wheels, images, caches."""
