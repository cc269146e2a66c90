// What a user prefers, kept in this browser.

const DEFAULTS = { sourceTemplate: "", logTemplate: "" } as const;
export type SettingName = keyof typeof DEFAULTS;

export function setting(name: SettingName): string {
  return localStorage.getItem(`spanflame.${name}`) ?? DEFAULTS[name];
}

export function setSetting(name: SettingName, value: string): void {
  if (value === DEFAULTS[name]) localStorage.removeItem(`spanflame.${name}`);
  else localStorage.setItem(`spanflame.${name}`, value);
}
