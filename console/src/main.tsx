import './parts/tokens.css';
import './parts/base.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { pages } from './pages/pages.ts';
import { App } from './shell/app.tsx';
import { FailureBoundary } from './shell/failure-boundary.tsx';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element for the console');
createRoot(root).render(
  <StrictMode>
    <FailureBoundary>
      <App pages={pages} />
    </FailureBoundary>
  </StrictMode>,
);
