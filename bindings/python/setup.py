"""What pyproject.toml can not say: the extension module is built by cffi."""

from setuptools import setup

setup(cffi_modules=["wq_build.py:ffi"])
