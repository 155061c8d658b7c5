"""Sfumato: private records of who was where, when, turned into synthetic records that can be published.

>>> import pyarrow as pa
>>> import sfumato as sf
>>> schema = sf.Schema(columns=(sf.Person(name="who"), sf.Category(name="area", values=(1, 2, 3))))
>>> data = pa.table({"who": [1, 1, 2, 3], "area": [1, 2, 2, 3]})
>>> vault = sf.Vault.open(data, schema, sf.Budget(epsilon=100.0), ledger=":memory:")
>>> model = sf.NMD(bound=sf.records(2)).fit(vault)
>>> model.to_table(records=100).num_rows
100
"""

from sfumato._version import __version__
from sfumato.bounds import Bound, l2, records, weight
from sfumato.columns import Category, Number, Period, Person, Place, Shares, Time
from sfumato.errors import BudgetError, InputError, RunError, SfumatoError
from sfumato.marginal import Axis, Counts, Marginal
from sfumato.models import Archetypes, GraphicalModel, HistogramModel, Model, RecordsModel, learn_archetypes, load_model
from sfumato.privacy.budget import Budget
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.plan import Plan
from sfumato.privacy.vault import Vault
from sfumato.report import OwnersReport, Report
from sfumato.schema import Schema
from sfumato.synthesizers import NMD, AdaGrid, DPSyn, Synthesizer, TaxiTrip
from sfumato.table import Table

__all__ = [
    "NMD",
    "AdaGrid",
    "Archetypes",
    "Axis",
    "Bound",
    "Budget",
    "BudgetError",
    "Category",
    "Counts",
    "DPSyn",
    "GraphicalModel",
    "HistogramModel",
    "InputError",
    "Ledger",
    "Marginal",
    "Model",
    "Number",
    "OwnersReport",
    "Period",
    "Person",
    "Place",
    "Plan",
    "RecordsModel",
    "Report",
    "RunError",
    "Schema",
    "SfumatoError",
    "Shares",
    "Synthesizer",
    "Table",
    "TaxiTrip",
    "Time",
    "Vault",
    "__version__",
    "l2",
    "learn_archetypes",
    "load_model",
    "records",
    "weight",
]
