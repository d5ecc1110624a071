"""The dashboard: pages made on this machine, for this machine's user, at 127.0.0.1 only.

`serving` starts it, `door` lets in who may, `application` names every page, `pages/` has a module for each, and all of
them read what `app/watching` has seen. starlette, uvicorn and jinja2 come with the extra `dash`.
"""
