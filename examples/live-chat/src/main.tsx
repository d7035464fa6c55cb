import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { client, hooks } from './database.ts';
import './style.css';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <hooks.Provider client={client}>
      <App />
    </hooks.Provider>
  </StrictMode>,
);
