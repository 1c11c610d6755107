"""The fixed list of texts that what is ours must read as the library does, before it may serve.

Each script that people write in, and what tokenizers stumble over.
"""

import tokenizers

from ivy.tokenize.native.encoder import Encoder

TEXTS = (
    "",
    " ",
    "Where is the library?  It's the 2nd house on the left — 'bout 300m away, isn't it?",
    "TIEBREAKERS unbelievable supercalifragilisticexpialidocious 3.14159 $1,000.00 100% #1 a+b=c ``quoted``",
    "def main(argv: list[str]) -> int:\n\treturn {'a': [1, 2]}[argv[0]][0]  # comment\r\n\r\n",
    "https://example.org/path?query=value&other=%20#fragment user@example.org /usr/lib/x86_64-linux-gnu",
    "[CLS] a [SEP] b [MASK] c [PAD] d [UNK] <s> e </s> f <mask> g <pad> h <unk> [MA SK] <s <mask  >",
    "le garçon naïf mange des œufs à Nîmes ; « déjà vu » coûte 5 €",
    "Die Straße ist größer; ÄÖÜ äöü ẞ ß. Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich.",
    "El niño comió piñas en ¿dónde? ¡Allí! A coração não dói às vezes.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń. Pchnąć w tę łódź jeża.",
    "Tiếng Việt có nhiều dấu thanh: ngã, hỏi, nặng. Tie\u0302\u0301ng Vie\u0323\u0302t",
    "İstanbul'da ılık IŞIK ışık, DİYARBAKIR",
    "Съешь ещё этих мягких французских булок, да выпей чаю. Ґанок їжак.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ΌΣΟΣ όσος",
    "שלום עולם, מה שלומך? בְּרֵאשִׁית",
    "مرحبا بالعالم، كيف حالك؟ السَّلَامُ عَلَيْكُمْ ﷺ ﻼ خوشبختم می‌شود",
    "नमस्ते दुनिया, क्षत्रिय क़लम। हिन्दी में \u0928\u093c",
    "আমার সোনার বাংলা, আমি তোমায় ভালোবাসি। ড়",
    "ਸਤ ਸ੍ਰੀ ਅਕਾਲ ગુજરાતી ଓଡ଼ିଆ தமிழ் வாழ்க తెలుగు ಕನ್ನಡ മലയാളം සිංහල",
    "สวัสดีชาวโลก ภาษาไทยไม่มีช่องว่าง น้ำ ສະບາຍດີ ຊາວໂລກ ນ້ຳ",
    "မြန်မာဘာသာ ភាសាខ្មែរ བོད་སྐད། ꦧꦱꦗꦮ\u200b ᬩᬲᬩᬮᬶ\u1b44\u1b44",
    "ქართული ენა Հայերեն լեզու አማርኛ ነው ᏣᎳᎩ ᓄᓇᕗᑦ Ⲁⲁ",
    "我能吞下玻璃而不伤身体。繁體中文，標點「符號」！㐀𠀀豈",
    "私はガラスを食べられます。それは私を傷つけません。ｶﾞｷﾞ ﾊﾟ か\u3099 ㍿ ㌔",
    "나는 유리를 먹을 수 있어요. 각갂 \u1100\u1161\u11a8 ㄱㄴ ﾡ",
    "🙂 👩‍👩‍👧 👍🏽 🇩🇪🇫🇷 ❤️ ™️ ©\u200d© ®\u0301 ㊗\u200d™\u0301 1️⃣",
    "ﬁ ﬂ ﬀ ① ② Ⅳ ½ ¾ x² H₂O ™ ℃ № Ａｂｃ１２３ ｡｢｣ … ‥ ´ ¨ ¸",
    "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u1680g\u200bh\ufeffi\u00adj\u200dk\u2060l\x85m\x0bn\x0co",
    "\x00a\x01b\x7f \ufffd \ue000 \U000f0000 \U0010ffff \U0009d7c0 \u0378",
    "e\u0301 \u0301x \u0344 \u0340\u0341 \u0600 \u0600a \u302e\u1b44 a\u0301\u0301\u0301 \u1e9b\u0323 q\u0307\u0323",
    "▁ ▁▁ a▁b ▁a a▁ a ▁ b \u2581\n\u2581",
    "  leading and   several    spaces and trailing  ",
    "\n\n a \t\t b \r\n\r\n c \r d \n\u0301 \r\n\u0301",
    "x" * 99 + " " + "y" * 100 + " " + "z" * 101 + " " + "語" * 101,
    "antidisestablishmentarianism " * 20 + "한국어" * 40 + "ไทย" * 40,
)


def different(encoder: Encoder, inner: tokenizers.Tokenizer) -> int | None:
    """The first text that gets other ids than those of the library; None where there is none."""
    for place, text in enumerate(TEXTS):
        wanted = inner.encode(text, add_special_tokens=False).ids
        few = len(wanted) // 2
        whole, begin = encoder.ids(text), encoder.ids(text, few)
        end = encoder.ids(text, few, at_start=False)
        if whole is not None and list(whole) != wanted:
            return place
        if begin is not None and list(begin[:few]) != wanted[:few]:
            return place
        if end is not None and list(end[len(end) - few :]) != wanted[len(wanted) - few :]:
            return place
    return None
