"""Which architectures are known."""

from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.models.bert import Bert
from tulip_rose.rose.models.distilbert import DistilBert
from tulip_rose.rose.models.gemma3 import Gemma3
from tulip_rose.rose.models.model import ModelType
from tulip_rose.rose.models.modernbert import ModernBert
from tulip_rose.rose.models.mpnet import MPNet
from tulip_rose.rose.models.nomic import NomicBert
from tulip_rose.rose.models.qwen3 import Qwen3
from tulip_rose.rose.models.roberta import Roberta
from tulip_rose.rose.models.within import Within

_BERT_HEADS, _LM_HEAD, _DISTIL_HEAD = r"cls\..*", r"lm_head\..*", r"vocab_(transform|layer_norm|projector)\..*"
_CLASSIFIER = r"(pre_)?classifier\.((dense|out_proj)\.)?(weight|bias)"
_NOMIC_CLASSIFIER = r"(nomic_bert\.pooler\.dense|classifier)\.(weight|bias)"
_MODERN_CLASSIFIER, _SCORE = r"(head\.(dense|norm)|classifier)\.(weight|bias)", r"score\.weight"
_MODERN_HEAD = r"(head|decoder)\..*"

_KNOWN: dict[str, ModelType] = {
    "BertForMaskedLM": Within(Bert, _BERT_HEADS),
    "BertForPreTraining": Within(Bert, _BERT_HEADS),
    "BertForSequenceClassification": Within(Bert, _CLASSIFIER),
    "BertModel": Bert,
    "CamembertForMaskedLM": Within(Roberta, _LM_HEAD),
    "CamembertForSequenceClassification": Within(Roberta, _CLASSIFIER),
    "CamembertModel": Roberta,
    "DistilBertForMaskedLM": Within(DistilBert, _DISTIL_HEAD),
    "DistilBertForSequenceClassification": Within(DistilBert, _CLASSIFIER),
    "DistilBertModel": DistilBert,
    "Gemma3TextForSequenceClassification": Within(Gemma3, _SCORE),
    "Gemma3TextModel": Gemma3,
    "HF_ColBERT": Bert,
    "MPNetForMaskedLM": Within(MPNet, _LM_HEAD),
    "MPNetForSequenceClassification": Within(MPNet, _CLASSIFIER),
    "MPNetModel": MPNet,
    "ModernBertForMaskedLM": Within(ModernBert, _MODERN_HEAD),
    "ModernBertForSequenceClassification": Within(ModernBert, _MODERN_CLASSIFIER),
    "ModernBertModel": ModernBert,
    "NomicBertForSequenceClassification": Within(NomicBert, _NOMIC_CLASSIFIER, "nomic_bert."),
    "NomicBertModel": NomicBert,
    "PPLXQwen3ContextualModel": Qwen3,
    "PPLXQwen3Model": Qwen3,
    "Qwen3ForCausalLM": Within(Qwen3, _LM_HEAD),
    "Qwen3ForSequenceClassification": Within(Qwen3, _SCORE),
    "Qwen3Model": Qwen3,
    "RobertaForMaskedLM": Within(Roberta, _LM_HEAD),
    "RobertaForSequenceClassification": Within(Roberta, _CLASSIFIER),
    "RobertaModel": Roberta,
    "XLMRobertaForMaskedLM": Within(Roberta, _LM_HEAD),
    "XLMRobertaForSequenceClassification": Within(Roberta, _CLASSIFIER),
    "XLMRobertaModel": Roberta,
}


def find_model(config: dict[str, Any], where: str) -> tuple[str, ModelType]:
    """The architecture that `config.json` names, and how it is loaded.

    Raises:
        LoadError: none is named, or it is not known; lists those that are.
    """
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names else None
    if name not in _KNOWN:
        raise LoadError(f"{where}: architecture {name!r} is not known; known are {', '.join(sorted(_KNOWN))}")
    return name, _KNOWN[name]
