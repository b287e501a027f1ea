"""The rule about a model signature, which other tools verify, too."""

from collections.abc import Callable, Iterator

from toolnoise.record.tree import MODEL_SIGNATURE
from toolnoise.verify import model_signature
from toolnoise.verify.audit.evidence import Evidence, Found, guarded
from toolnoise.verify.model_signature import Bundle

# What a slim copy has besides the files that were signed.
SLIM = ("left-out.json", "statements/left-out.json.intoto.json")


def signed_by(signer: str) -> Callable[[Evidence], Found]:
    """The rule for the owner of a public key in PEM, or for an identity and its issuer at Sigstore."""
    refusal = model_signature.verifier(signer)

    def model_is_signed(evidence: Evidence) -> Found:
        """Every file is as model.sig has it, which is signed by the required signer."""
        name = evidence.tree.named(MODEL_SIGNATURE)
        yield from guarded(name, lambda: _differences(evidence, refusal))

    return model_is_signed


def _differences(evidence: Evidence, refusal: Callable[[Bundle], str]) -> Found:
    tree = evidence.tree
    bundle = model_signature.read(evidence.path(tree.named(MODEL_SIGNATURE)))
    if why := refusal(bundle):
        yield tree.named(MODEL_SIGNATURE), why
    known = {path: hashed.sha256 for path, hashed in evidence.hashed.items()}
    for path, what in bundle.differences(tree.left_out | model_signature.digests(tree, known)):
        if path not in SLIM or not tree.left_out:
            yield tree.named(path), what


def lines(evidence: Evidence) -> Iterator[str]:
    """That there is such a signature."""
    if MODEL_SIGNATURE in evidence.tree.files:
        yield f"{evidence.tree.name}: {MODEL_SIGNATURE} is there (--require-model-signature says whose it must be)"
