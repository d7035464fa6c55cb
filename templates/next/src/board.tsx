'use client';

import { useState } from 'react';
import { Composer } from './composer';
import { client, Provider, useOnline, useQuery } from './database';
import { Notes } from './notes';

export function Board({ title }: { title: string }) {
  const [problem, setProblem] = useState('');
  return (
    <Provider client={client}>
      <header>
        <h1>{title}</h1>
        <Presence />
      </header>
      <Composer onProblem={setProblem} />
      {problem !== '' && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <Notes onProblem={setProblem} />
    </Provider>
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
