import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { client } from './database.ts';
import { Provider } from './hooks.ts';
import './style.css';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <Provider client={client}>
      <App />
    </Provider>
  </StrictMode>,
);
