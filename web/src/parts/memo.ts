import { Component, h, type ComponentChild, type ComponentType } from "preact";

/** Draws again only when a property changed. */
export function memo<P extends object>(inner: ComponentType<P>): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as Readonly<Record<string, unknown>>;
      const after = next as Readonly<Record<string, unknown>>;
      const keys = Object.keys(after);
      return keys.length !== Object.keys(before).length || keys.some((k) => before[k] !== after[k]);
    }
    override render(): ComponentChild {
      return h(inner, this.props);
    }
  };
}
