import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ReducerDBProvider } from 'reducerdb/react';
import { App } from './app.tsx';
import { connectionBuilder } from './database.ts';
import { Notices } from './notices.tsx';
import './style.css';

const element = document.getElementById('root');
if (element === null) throw new Error('index.html has no #root');
const root = createRoot(element);
try {
  const builder = await connectionBuilder();
  root.render(
    <StrictMode>
      <ReducerDBProvider connectionBuilder={builder}>
        <Notices>
          <App />
        </Notices>
      </ReducerDBProvider>
    </StrictMode>,
  );
} catch (error) {
  root.render(
    <p className="empty" role="alert">
      The database of this page cannot be found. {String(error)}
    </p>,
  );
}
