"""Use cases: one function, one transaction, one sentence.

What is written stands above what is read, and that above what is kept: `mirror`; `objects`, `outside` and
`scheduling`; `jobs`; `questions`; `explain`; `members`, `placements`, `queues` and `kueue_view`; `index`,
`reading` and `works`; `context`; `access`.
"""
