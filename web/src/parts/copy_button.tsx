import { useState } from "preact/hooks";

/** Copying works on plain HTTP too, where the clipboard interface is not given. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "off-screen";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    // The old call is the only one there is without TLS.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function CopyButton(props: { text: string; label?: string }) {
  const [done, setDone] = useState("");
  const label = props.label ?? "Copy";
  return (
    <button
      type="button"
      class="copy"
      aria-label={props.label === undefined ? "Copy to the clipboard" : undefined}
      onClick={() => {
        void copyText(props.text).then((ok) => {
          setDone(ok ? "Copied" : "Not allowed");
          setTimeout(() => setDone(""), 1500);
        });
      }}
    >
      {done === "" ? label : done}
    </button>
  );
}
