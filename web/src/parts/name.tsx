import { visible } from "../format/safe_text";

/** A name from telemetry: one line, cut by the place it has, whole in the tooltip. */
export function Name(props: { text: string; class?: string }) {
  const text = visible(props.text);
  return (
    <bdi class={props.class ? `name ${props.class}` : "name"} title={text}>
      {text === "" ? "(no name)" : text}
    </bdi>
  );
}
