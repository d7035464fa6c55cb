import { mount } from 'svelte';
import App from './App.svelte';
import './style.css';

const target = document.getElementById('root');
if (target === null) throw new Error('index.html has no #root');
export const app = mount(App, { target });
