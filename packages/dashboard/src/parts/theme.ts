const KEY = 'svc-dashboard-theme';
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export function readTheme(): Theme {
  return themes.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';
}

/** Shows a theme, and remembers it. */
export function applyTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
