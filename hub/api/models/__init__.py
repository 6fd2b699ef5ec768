"""Schemas of bodies for people and programs: one module per noun.

The models name fields, types and meanings for `/openapi.json`, and check the bodies of requests. Answers
are not read through them: services give them ready-made, and the tests hold them to their description.
"""
