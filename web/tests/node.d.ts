// The modules of Node that the tests use.
declare module "node:test" {
  export function test(name: string, body: () => void): void;
}
declare module "node:assert/strict" {
  export function equal(a: unknown, b: unknown, message?: string): void;
  export function match(text: string, pattern: RegExp, message?: string): void;
  export function deepEqual(a: unknown, b: unknown, message?: string): void;
  export function ok(a: unknown, message?: string): void;
}
declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function readdirSync(path: string, options: { withFileTypes: true }): readonly { readonly name: string; isDirectory(): boolean }[];
}
