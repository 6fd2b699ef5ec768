"""The hub's answers as frozen records: one module per noun, all of them `record.Record`.

Attributes are the hub's names in Python's spelling (`createdAt` is `created_at`, `ranSeconds` is `ran_s`);
instants are datetimes with a time zone. `raw` is the original answer, with additional fields of a newer
hub. `tests/api/test_records.py` checks the records against a real hub's answers.
"""
