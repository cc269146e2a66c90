// Queries to the server. Every one can be given up; errors carry the server's sentence.

const TOKEN = "spanflame.token";
const TENANT = "spanflame.tenant";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly retryAfterS: number,
  ) {
    super(message);
  }
}

export interface Credentials {
  token: string;
  tenant: string;
}

export function credentials(): Credentials {
  return { token: sessionStorage.getItem(TOKEN) ?? "", tenant: sessionStorage.getItem(TENANT) ?? "" };
}

export function setCredentials(c: Credentials): void {
  sessionStorage.setItem(TOKEN, c.token);
  sessionStorage.setItem(TENANT, c.tenant);
}

/** A token the server does not know is of no use to us, and may be one to others. */
export function forgetToken(): void {
  sessionStorage.removeItem(TOKEN);
}

export interface Answer<T> {
  readonly data: T;
  /** A limit or a damaged block cut the answer: which. */
  readonly partial: string;
}

export type Query = Readonly<Record<string, string | undefined>>;

export function address(path: string, query: Query = {}): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== "") q.set(k, v);
  const text = q.toString();
  return text === "" ? path : `${path}?${text}`;
}

function headers(body: boolean): Headers {
  const h = new Headers({ Accept: "application/json" });
  const c = credentials();
  if (c.token !== "") h.set("Authorization", `Bearer ${c.token}`);
  if (c.tenant !== "") h.set("X-Scope-OrgID", c.tenant);
  if (body) h.set("Content-Type", "application/json");
  return h;
}

async function failure(response: Response): Promise<ApiError> {
  const text = (await response.text()).trim();
  let message = text;
  if (text.startsWith("{")) {
    try {
      const told = JSON.parse(text) as { message?: unknown };
      if (typeof told.message === "string") message = told.message;
    } catch {
      // then it is a sentence that begins with a brace
    }
  }
  if (message === "") message = response.statusText === "" ? `status ${String(response.status)}` : response.statusText;
  return new ApiError(response.status, message, Number(response.headers.get("Retry-After") ?? "0") || 0);
}

/** Queries that are with the server at one time: it refuses a client that has too many waiting. */
const AT_ONCE = 3;
let asking = 0;
const waiting: (() => void)[] = [];

async function turn(signal: AbortSignal): Promise<void> {
  if (asking < AT_ONCE) {
    asking++;
    return;
  }
  await new Promise<void>((go, stop) => {
    const begin = () => {
      signal.removeEventListener("abort", leave);
      go();
    };
    const leave = () => {
      const at = waiting.indexOf(begin);
      if (at >= 0) waiting.splice(at, 1);
      stop(new DOMException("given up", "AbortError"));
    };
    waiting.push(begin);
    signal.addEventListener("abort", leave, { once: true });
  });
}

/** The place goes to who has waited longest. */
function over(): void {
  const next = waiting.shift();
  if (next) next();
  else asking--;
}

async function request(url: string, body: unknown, signal: AbortSignal, method = "POST"): Promise<Response> {
  await turn(signal);
  try {
    return await sent(url, body, signal, method);
  } finally {
    over();
  }
}

async function sent(url: string, body: unknown, signal: AbortSignal, method: string): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      headers: headers(body !== undefined),
      signal,
      credentials: "omit",
      ...(body === undefined ? {} : { method, body: JSON.stringify(body) }),
    });
  } catch (e) {
    if (signal.aborted) throw e;
    throw new ApiError(0, "The server does not answer. Is it running, and is the network up?", 0);
  }
  if (!response.ok) throw await failure(response);
  return response;
}

/** What the answer lacks, in the server's words; "" when it is whole. */
function missing(response: Response): string {
  const cut = response.headers.get("x-spanflame-partial") ?? "";
  if (cut !== "") return cut;
  if (response.headers.get("x-spanflame-exact") === "false") return "not exact: the edges of the range are rounded, or only profiles of individual requests were found";
  return response.headers.get("x-spanflame-symbols") ?? "";
}

/** `more` is text for the end of the address: parameters that may repeat. */
export async function get<T>(path: string, query: Query, signal: AbortSignal, more = ""): Promise<Answer<T>> {
  const response = await request(address(path, query) + more, undefined, signal);
  const partial = missing(response);
  return { data: (await response.json()) as T, partial };
}

/** A call that changes something (POST). */
export async function send<T>(path: string, query: Query, body: unknown, signal: AbortSignal): Promise<T> {
  const response = await request(address(path, query), body, signal);
  return (await response.json()) as T;
}

export interface Timed<T> {
  readonly data: T;
  /** The server's clock: what is old is stated by it, not by ours. */
  readonly nowMs: number;
}

/** The same, and when it was answered. */
export async function sendTimed<T>(path: string, body: unknown, signal: AbortSignal): Promise<Timed<T>> {
  const response = await request(path, body, signal);
  const told = Date.parse(response.headers.get("date") ?? "");
  return { data: (await response.json()) as T, nowMs: Number.isNaN(told) ? Date.now() : told };
}

/** A call that takes something away (DELETE). */
export async function remove(path: string, signal: AbortSignal): Promise<void> {
  await request(path, {}, signal, "DELETE");
}

/** A Connect call, of the profile API unless another service is named. */
export async function call<T>(method: string, body: unknown, signal: AbortSignal, service = "/querier.v1.QuerierService/"): Promise<Answer<T>> {
  const response = await request(service + method, body, signal);
  const partial = missing(response);
  return { data: (await response.json()) as T, partial };
}

/** The bytes of an export, for a download. */
export async function blob(path: string, query: Query, signal: AbortSignal): Promise<Blob> {
  return (await request(address(path, query), undefined, signal)).blob();
}
