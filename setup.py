"""Hands the metadata of setup.cfg to pbr; see pyproject.toml for the build backend."""

import setuptools

setuptools.setup(pbr=True)
