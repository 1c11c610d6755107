"""Which alerts real faults on a cluster make fire. Each fault is made by `e2ekit.troubles`.

Keys are values of the label `embedding_model`; what has none is the operator's, and is told apart by `type`.
"""

AT_FIRST = {
    "n": {"TrellisNoReadyEngine"},
    "d": {"TrellisDownloadStalled"},
    "g": {"TrellisNoGateway"},
    "": {"TrellisModelsUnserved"},
}
"""Of models that are in trouble from their beginning."""
OF_FAULTS = {
    "m": {"TrellisKeysRefused", "TrellisRestarts", "TrellisWarmupStuck", "TrellisNoReadyEngine"},
    "f": {
        "TrellisBatchesFail",
        "TrellisCapturesFail",
        "TrellisDigestMismatch",
        "TrellisEnginesEjected",
        "TrellisErrorsFast",
        "TrellisErrorsSlow",
        "TrellisLateSlow",
        "TrellisMixedDigests",
        "TrellisNonFiniteRows",
        "TrellisSlowAnswers",
    },
    "h": {"TrellisEngineStuck", "TrellisQueueGrowing", "TrellisRefusing"},
    "Accepted": {"TrellisModelsBlocked"},
}
"""Of models that served before."""
WITHOUT_AN_API_SERVER = {"m": {"TrellisEnginesUnknown"}, "": {"TrellisOperatorFailing"}}
WITHOUT_AN_OPERATOR = {"": {"TrellisOperatorAway"}}

FOLLOWS = {
    "m": {"TrellisLateSlow", "TrellisSlowAnswers"},
    "f": {"TrellisEnginesUnknown"},
    "h": {
        "TrellisEnginesUnknown",
        "TrellisErrorsFast",
        "TrellisErrorsSlow",
        "TrellisNoReadyEngine",
    },
    "n": {"TrellisEnginesUnknown"},
    "SourceReady": {"TrellisModelsBlocked"},
}
"""What may come besides. An engine that is stuck is not ready either, so its callers get 503, and is ended for it.
Without an API server no gateway has news. A download that stalls for an hour keeps its model from being ready. A model
that is well is late on a machine that is short of time."""

ON_A_CLUSTER = (AT_FIRST, OF_FAULTS, WITHOUT_AN_API_SERVER, WITHOUT_AN_OPERATOR)
