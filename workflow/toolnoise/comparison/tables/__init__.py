"""Tables with a line a run, or a line a step: metrics that any logger wrote, instead of predictions.

`reading` reads them, `differences` compares their arms, `text` shows the result, `pilot` takes from them what
`toolnoise plan` needs.
"""
