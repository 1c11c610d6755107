"""Write the dashboards and the table of metrics: `python -m helm.monitoring`."""

from helm.monitoring.pages import ROOT, files


def main() -> None:
    """Write each file where it belongs."""
    for path, text in files().items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
