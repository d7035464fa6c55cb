import { useClient, useQuery, useReducer } from './hooks.ts';

export function Notes({ onProblem }: { onProblem: (text: string) => void }) {
  const me = useClient().identity;
  const likeNote = useReducer((reducers) => reducers.likeNote);
  const removeNote = useReducer((reducers) => reducers.removeNote);
  const { rows, isReady, error } = useQuery((from) => from.note, {
    sort: (a, b) => Number(b.id - a.id),
  });
  const attempt = (call: Promise<unknown>) => {
    call.then(() => onProblem('')).catch((failure: Error) => onProblem(failure.message));
  };

  if (error !== undefined) return <p className="problem">{error.message}</p>;
  if (!isReady) return <p className="hint">Loading …</p>;
  return (
    <ul className="notes">
      {rows.map(({ id, author, text, likes }) => (
        <li key={String(id)}>
          <span className="text">{text}</span>
          <button type="button" aria-label="Like" onClick={() => attempt(likeNote({ id }))}>
            ♥ {likes}
          </button>
          {me !== undefined && author.equals(me) && (
            <button type="button" onClick={() => attempt(removeNote({ id }))}>
              Remove
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
