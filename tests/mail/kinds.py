"""Generated ham and spam of kinds at the edges: short, sealed, without text, newsletters, and other scripts."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable

#: Words of spam and of ham in each language, by class.
WORDS = {
    "english": {
        "spam": "winner bonus casino pills loan cheap prize offer credit urgent bitcoin guaranteed",
        "ham": "lunch garden train aunt choir bakery dentist keys school bicycle birthday tent",
    },
    "russian": {
        "spam": "выигрыш казино бонус кредит таблетки скидка деньги срочно приз дешево заработок акция",
        "ham": "обед поезд дача бабушка школа ключи врач хлеб велосипед палатка праздник собака",
    },
    "chinese": {
        "spam": "发票 代开 优惠 贷款 中奖 促销 赚钱 免费 赌场 特价 点击 会员",
        "ham": "午饭 火车 花园 奶奶 学校 钥匙 医生 面包 单车 帐篷 生日 小狗",
    },
    "japanese": {
        "spam": "当選 無料 カジノ 副業 融資 激安 出会い 限定 ボーナス 儲かる 登録 今すぐ",
        "ham": "昼食 電車 庭 祖母 学校 鍵 歯医者 パン屋 自転車 テント 誕生日 合唱",
    },
    "arabic": {
        "spam": "جائزة قرض كازينو مكافأة رخيص عاجل ربح مجاني عرض حبوب ائتمان مضمون",
        "ham": "غداء قطار حديقة جدتي مدرسة مفاتيح طبيب خبز دراجة خيمة عيد كلب",
    },
}
SHOPS = {"spam": ("deals-now", "best-pharm", "win-club"), "ham": ("tidemark", "larkfield", "oakline")}


def text(rng: random.Random, label: str, count: int, language: str = "english") -> str:
    """Return words, most of them of a class."""
    own, other = (WORDS[language][each].split() for each in (label, "ham" if label == "spam" else "spam"))
    return " ".join(rng.choice(other if rng.random() < 0.1 else own) for _ in range(count))


def head(rng: random.Random, label: str, subject: str, extra: str = "") -> str:
    """Return the header of a message: its relay is of its class, its sender often new."""
    shop = rng.choice(SHOPS[label if rng.random() < 0.9 else ("ham", "spam")[label == "ham"]])
    number = rng.randrange(10**9)
    return (
        f"Received: from {shop}.example ([192.0.2.{rng.randrange(255)}]) by mx.home.example with SMTP id {number}\n"
        f"From: person{rng.randrange(500)}@{shop}.example\nTo: me@home.example\n"
        f"Message-ID: <{number}@{shop}.example>\nSubject: {subject}\n{extra}"
    )


def short(rng: random.Random, label: str) -> bytes:
    """Return a message of six words."""
    return f"{head(rng, label, text(rng, label, 2))}\n{text(rng, label, 6)}\n".encode()


def newsletter(rng: random.Random, label: str) -> bytes:
    """Return a message in HTML with links, which can be unsubscribed from."""
    shop = rng.choice(SHOPS[label])
    items = "".join(
        f'<p style="color:#{rng.randrange(4096):03x}">{text(rng, label, 20)}</p>'
        f'<a href="https://{shop}.example/{text(rng, label, 1)}/{rng.randrange(999)}">more</a>'
        for _ in range(6)
    )
    extra = f"List-Unsubscribe: <https://{shop}.example/u/{rng.randrange(10**6)}>\nContent-Type: text/html\n"
    return f"{head(rng, label, text(rng, label, 4), extra)}\n<html><body>{items}</body></html>\n".encode()


def receipt(rng: random.Random, label: str) -> bytes:
    """Return an order with prices."""
    lines = "\n".join(f"{text(rng, label, 2)}  {rng.randrange(1, 90)}.{rng.randrange(100):02d} EUR" for _ in range(5))
    subject = f"Your order {rng.randrange(10**6)}"
    return f"{head(rng, label, subject)}\nOrder and invoice\n{lines}\nTotal {rng.randrange(300)}.00 EUR\n".encode()


def multipart(rng: random.Random, label: str, kind: str, *parts: tuple[str, str]) -> bytes:
    """Return a message of several parts: their fields and contents."""
    mark = f"b{rng.randrange(10**9)}"
    extra = f'MIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary="{mark}"\n'
    body = "".join(f"--{mark}\n{fields}\n\n{content}\n" for fields, content in parts)
    return f"{head(rng, label, text(rng, label, 3), extra)}\n{body}--{mark}--\n".encode()


def calendar(rng: random.Random, label: str) -> bytes:
    """Return an invitation."""
    event = (
        f"BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\nDTSTART:202601{rng.randrange(10, 28)}T100000Z\n"
        f"SUMMARY:{text(rng, label, 4)}\nDESCRIPTION:{text(rng, label, 12)}\nEND:VEVENT\nEND:VCALENDAR"
    )
    plain = ("Content-Type: text/plain", text(rng, label, 8))
    return multipart(rng, label, "alternative", plain, ("Content-Type: text/calendar; method=REQUEST", event))


def sealed(rng: random.Random) -> str:
    """Return bytes that say nothing, as base64."""
    return base64.encodebytes(rng.randbytes(600)).decode().rstrip()


def pgp(rng: random.Random, label: str) -> bytes:
    """Return a message signed by PGP, or, of every third, an encrypted one, with no text to read."""
    armor = "-----BEGIN PGP {0}-----\n\n{1}\n-----END PGP {0}-----"
    if rng.random() < 1 / 3:
        version = ("Content-Type: application/pgp-encrypted", "Version: 1")
        content = ("Content-Type: application/octet-stream", armor.format("MESSAGE", sealed(rng)))
        return multipart(rng, label, "encrypted", version, content)
    signed = ("Content-Type: text/plain", text(rng, label, 15))
    return multipart(
        rng,
        label,
        "signed",
        signed,
        ("Content-Type: application/pgp-signature", armor.format("SIGNATURE", sealed(rng))),
    )


def smime(rng: random.Random, label: str) -> bytes:
    """Return a message with a signature of S/MIME."""
    fields = "Content-Type: application/pkcs7-signature; name=smime.p7s\nContent-Transfer-Encoding: base64"
    return multipart(rng, label, "signed", ("Content-Type: text/plain", text(rng, label, 15)), (fields, sealed(rng)))


def image(rng: random.Random, label: str) -> bytes:
    """Return a message whose only content is an image."""
    name = f"{text(rng, label, 1)}{rng.randrange(99)}.png"
    page = f'<html><body><img src="cid:{rng.randrange(10**6)}" alt="{text(rng, label, 2)}"></body></html>'
    fields = f'Content-Type: image/png; name="{name}"\nContent-Transfer-Encoding: base64'
    return multipart(rng, label, "related", ("Content-Type: text/html", page), (fields, sealed(rng)))


def foreign(language: str, charset: str) -> Callable[[random.Random, str], bytes]:
    """Return the generator of a language in a charset; the subject is in an encoded word."""

    def message(rng: random.Random, label: str) -> bytes:
        subject = base64.b64encode(text(rng, label, 3, language).encode(charset)).decode()
        extra = f"MIME-Version: 1.0\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: 8bit\n"
        start = head(rng, label, f"=?{charset}?b?{subject}?=", extra)
        join = "" if language in ("chinese", "japanese") else " "
        return f"{start}\n".encode() + text(rng, label, 20, language).replace(" ", join).encode(charset) + b"\n"

    return message


KINDS: dict[str, Callable[[random.Random, str], bytes]] = {
    "short": short,
    "newsletter": newsletter,
    "receipt": receipt,
    "calendar": calendar,
    "PGP": pgp,
    "S/MIME": smime,
    "image": image,
    "Russian in KOI8-R": foreign("russian", "koi8-r"),
    "Russian in UTF-8": foreign("russian", "utf-8"),
    "Chinese in GB 2312": foreign("chinese", "gb2312"),
    "Chinese in UTF-8": foreign("chinese", "utf-8"),
    "Japanese in ISO-2022-JP": foreign("japanese", "iso-2022-jp"),
    "Japanese in UTF-8": foreign("japanese", "utf-8"),
    "Arabic in windows-1256": foreign("arabic", "windows-1256"),
}


def generate(kind: str, count: int, seed: int) -> list[tuple[bytes, str]]:
    """Return messages of a kind, of both classes in turn."""
    rng = random.Random(f"{kind} {seed}")
    return [(KINDS[kind](rng, label), label) for i in range(count) for label in [("ham", "spam")[i % 2]]]
