// When the server asks who we are: one prompt, whoever noticed.

type Need = (sentence: string) => void;
let prompt: Need = () => undefined;
const waiting = new Set<() => void>();

export function onNeed(f: Need): void {
  prompt = f;
}

export function needCredentials(sentence: string): void {
  prompt(sentence);
}

export function onCredentials(f: () => void): () => void {
  waiting.add(f);
  return () => waiting.delete(f);
}

export function haveCredentials(): void {
  for (const f of waiting) f();
}
