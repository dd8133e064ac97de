"""The types that functions return."""

from intrabench.datasets.cases.timepoints import FollowUp as FollowUp
from intrabench.engine.check import Finding as Finding
from intrabench.engine.score import Scored as Scored
from intrabench.engine.verify import Verdict as Verdict
from intrabench.publishing.board.submission import Submission as Submission
from intrabench.publishing.methods.methods import Methods as Methods
from intrabench.reporting.comparison import Comparisons as Comparisons
from intrabench.reporting.display import ResultTable as ResultTable
from intrabench.reporting.reference.claims import PublishedClaims as PublishedClaims
from intrabench.results.compact import Compacted as Compacted
from intrabench.results.merge import Merged as Merged
from intrabench.statistics.compare import Comparison as Comparison
