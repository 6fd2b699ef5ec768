"""What the hub answers, as frozen records: one module per noun, all of them `record.Record`.

Attributes are the hub's names in Python's spelling (`createdAt` is `created_at`, `ranSeconds` is
`ran_s`), instants are datetimes with their zone. `raw` is the answer as it came, with whatever a newer
hub says besides. `tests/api/test_records.py` holds the records to what a hub really answers.
"""
