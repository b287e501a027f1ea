from toolnoise.api.compare import churn as churn
from toolnoise.api.compare import compare_predictions as compare_predictions
from toolnoise.api.compare import compare_questions as compare_questions
from toolnoise.api.compare import compare_runs as compare_runs
from toolnoise.api.compare import compare_values as compare_values
from toolnoise.api.compare import noise as noise
from toolnoise.api.decide import gate as gate
from toolnoise.api.decide import keep as keep
from toolnoise.api.decide import plan as plan
from toolnoise.api.study import check as check
from toolnoise.api.study import read_results as read_results
from toolnoise.base.errors import BadInput as BadInput

__version__: str
