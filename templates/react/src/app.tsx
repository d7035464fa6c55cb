import { useState } from 'react';
import { Composer } from './composer.tsx';
import { useOnline, useQuery } from './hooks.ts';
import { Notes } from './notes.tsx';

export function App() {
  const [problem, setProblem] = useState('');
  return (
    <main>
      <header>
        <h1>{{name}}</h1>
        <Presence />
      </header>
      <Composer onProblem={setProblem} />
      {problem !== '' && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <Notes onProblem={setProblem} />
      <p className="hint">
        Open this page in a second window. The database is <code>module/src/index.ts</code>, the
        page is <code>src/app.tsx</code>: save either one.
      </p>
    </main>
  );
}

function Presence() {
  const isOnline = useOnline();
  const { rows } = useQuery((from) => from.visitor);
  if (!isOnline) return <p className="presence offline">connecting …</p>;
  return (
    <p className="presence">
      {rows.length} {rows.length === 1 ? 'window' : 'windows'} open
    </p>
  );
}
