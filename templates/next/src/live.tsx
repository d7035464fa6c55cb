'use client';

import dynamic from 'next/dynamic';

/** The board, in the browser alone: a server that renders pages needs no connection of its own. */
export const Live = dynamic(() => import('./board').then(({ Board }) => Board), {
  ssr: false,
  loading: () => <p className="hint">Loading …</p>,
});
