import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';

type Attempt = (call: Promise<unknown>) => Promise<boolean>;

const AttemptContext = createContext<Attempt>(async () => false);

/** Waits for a call; gives whether it went well, and shows in words why not. */
export const useAttempt = () => useContext(AttemptContext);

interface Notice {
  readonly id: number;
  readonly text: string;
}

const shownMillis = 5_000;
let count = 0;

export function Notices({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const attempt = useCallback<Attempt>(async (call) => {
    try {
      await call;
      return true;
    } catch (error) {
      count += 1;
      const notice = { id: count, text: error instanceof Error ? error.message : String(error) };
      setNotices((all) => [...all, notice]);
      setTimeout(() => setNotices((all) => all.filter((each) => each !== notice)), shownMillis);
      return false;
    }
  }, []);
  return (
    <AttemptContext value={attempt}>
      {children}
      <div className="notices" role="alert">
        {notices.map(({ id, text }) => (
          <p key={id}>{text}</p>
        ))}
      </div>
    </AttemptContext>
  );
}
