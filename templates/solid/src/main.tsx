import { render } from 'solid-js/web';
import { App } from './app.tsx';
import './style.css';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
render(() => <App />, root);
