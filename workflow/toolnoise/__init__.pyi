from toolnoise.api.check import check as check
from toolnoise.api.churn import churn as churn
from toolnoise.api.compare import compare as compare
from toolnoise.api.keep import keep as keep
from toolnoise.api.noise import noise as noise
from toolnoise.api.plan import plan as plan
from toolnoise.api.read import read as read
from toolnoise.base.errors import BadInput as BadInput

__version__: str
