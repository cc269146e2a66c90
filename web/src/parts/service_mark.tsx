import { isRing, serviceColor } from "../format/color";

/** The square of a service's colour; its name stands beside it. */
export function ServiceMark(props: { name: string }) {
  const color = serviceColor(props.name);
  return <span class="sq" aria-hidden="true" style={isRing(props.name) ? { border: `2px solid ${color}` } : { background: color }} />;
}
