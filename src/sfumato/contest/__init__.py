"""The temporal map challenge rerun: its files, its three scores, its rules.

>>> from sfumato.contest import sprint1
>>> parameters = {
...     "runs": [{"epsilon": 1.0, "delta": 1e-9, "max_records_per_individual": 20}],
...     "schema": {"periods": [{"year": 2019, "month": 1}], "neighborhood": [{"name": "Abell", "code": 0}],
...                "incident_type": [{"name": "fire", "code": 0}, {"name": "theft", "code": 1}]}}
>>> import pyarrow as pa
>>> truth = pa.table({"year": [2019] * 3, "month": [1] * 3, "neighborhood": [0] * 3, "incident_type": [0, 0, 1]})
>>> submission = pa.table({"epsilon": [1.0], "neighborhood": [0], "year": [2019], "month": [1], "0": [2], "1": [1]})
>>> sprint1.score(truth, submission, parameters).value
1.0
"""

from sfumato.contest import sprint1, sprint2, sprint3
from sfumato.contest.checked import Checked, Fault
from sfumato.contest.parameters import Parameters
from sfumato.contest.score import ContestScore

__all__ = ["Checked", "ContestScore", "Fault", "Parameters", "sprint1", "sprint2", "sprint3"]
