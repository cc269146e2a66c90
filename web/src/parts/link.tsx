import type { ComponentChildren } from "preact";
import { goTo, within } from "../state/url";
import { useUrl } from "../state/use_url";

/** A link to another view of the page; the range goes along. Opens in a new tab as any link does. */
export function ViewLink(props: {
  to: Readonly<Record<string, string | undefined>>;
  children: ComponentChildren;
  class?: string;
  title?: string;
  label?: string;
  current?: boolean;
}) {
  const href = within(useUrl(), props.to);
  return (
    <a
      href={href}
      class={props.class}
      title={props.title}
      aria-label={props.label}
      aria-current={props.current ? "page" : undefined}
      onClick={(e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
        e.preventDefault();
        goTo(href);
      }}
    >
      {props.children}
    </a>
  );
}
