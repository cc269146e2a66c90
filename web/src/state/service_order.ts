// The order in which services were first seen, kept by the server as a setting: their colours go by it.

import { call, type Answer } from "../api/client";
import { knownOrder, orderOf, setOrder } from "../format/color";

const NAME = "spanflame.services";
const SERVICE = "/settings.v1.SettingsService/";
/** The first picture waits so long for the answer; later it would change colours before one's eyes. */
const WAIT_MS = 400;
const LATER_MS = 1500;

interface Settings {
  settings?: { name?: string; value?: string }[];
}

type Ask = <T>(method: string, body: unknown, signal: AbortSignal) => Promise<Answer<T>>;

async function kept(ask: Ask): Promise<string[]> {
  const answer = await ask<Settings>("Get", {}, new AbortController().signal);
  return orderOf(answer.data.settings?.find((s) => s.name === NAME)?.value);
}

/** Names that the server does not have yet are added to what it has by then: two browsers add, none replaces. */
async function tell(ask: Ask): Promise<void> {
  const had = await kept(ask);
  const all = [...new Set([...had, ...knownOrder()])];
  if (all.length > had.length) await ask("Set", { setting: { name: NAME, value: JSON.stringify(all) } }, new AbortController().signal);
}

const settings: Ask = (method, body, signal) => call(method, body, signal, SERVICE);

/** Done when the order is known, or when it takes too long. */
export async function loadOrder(): Promise<void> {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void tell(settings).catch(() => undefined), LATER_MS) as unknown as number;
  };
  const loaded = kept(settings)
    .then((order) => setOrder(order, later))
    .catch(() => undefined); // colours are this browser's own then
  await Promise.race([loaded, new Promise((r) => setTimeout(r, WAIT_MS))]);
}
