import { render } from 'preact';
import { App } from './app.js';
import { applyTheme, readTheme } from './parts/theme.js';

applyTheme(readTheme());
render(<App />, document.getElementById('app')!);
