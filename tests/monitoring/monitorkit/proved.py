"""Which alerts a real fault makes fire, and where: on processes of this machine, or on a cluster.

Keys are values of the label `embedding_model`; each stands for a model that has one trouble. What has no name is the
operator's.
"""

BY_PROCESSES = {
    "bad": {
        "TrellisBatchesFail",
        "TrellisErrorsFast",
        "TrellisErrorsSlow",
        "TrellisLateSlow",
        "TrellisNonFiniteRows",
        "TrellisSlowAnswers",
    },
    "full": {"TrellisEngineStuck", "TrellisQueueGrowing", "TrellisRefusing"},
    "keys": {"TrellisKeysRefused"},
    "gone": {"TrellisNoReadyEngine", "TrellisRestarts"},
    "uneven": {"TrellisCapturesFail", "TrellisDigestMismatch", "TrellisEnginesEjected", "TrellisMixedDigests"},
    "cold": {"TrellisWarmupStuck"},
    "": {"TrellisModelsBlocked"},
}
"""What must come."""
FOLLOWS = {
    "full": {"TrellisErrorsFast", "TrellisErrorsSlow", "TrellisNoReadyEngine", "TrellisWarmupStuck"},
    "uneven": {"TrellisLateSlow", "TrellisSlowAnswers"},
}
"""What may come besides: an engine that is stuck is not ready either, so its callers get 503; and when it has been so
for longer than a warm-up may take, the alert about warm-ups takes over. On a machine that is short of time, answers of
the one model that gives any are late."""

ON_A_CLUSTER = {"m": {"TrellisRestarts"}, "d": {"TrellisDownloadStalled"}, "n": {"TrellisNoReadyEngine"}}
WITHOUT_AN_API_SERVER = {"m": {"TrellisEnginesUnknown"}, "": {"TrellisOperatorFailing"}}
WITHOUT_AN_OPERATOR = {"": {"TrellisOperatorAway"}}
"""On a cluster, one after the other."""

EVERYWHERE = (BY_PROCESSES, ON_A_CLUSTER, WITHOUT_AN_API_SERVER, WITHOUT_AN_OPERATOR)
