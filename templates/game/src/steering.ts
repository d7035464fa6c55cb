export type Steer = (dx: number, dy: number) => void;

const directions: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  KeyA: [-1, 0],
  KeyD: [1, 0],
  KeyW: [0, -1],
  KeyS: [0, 1],
};

/** Steers by the keys that are down. */
export function watchKeys(steer: Steer): void {
  const down = new Set<string>();
  const turn = () => {
    const parts = [...down].map((code) => directions[code] ?? [0, 0]);
    steer(
      parts.reduce((sum, [dx]) => sum + dx, 0),
      parts.reduce((sum, [, dy]) => sum + dy, 0),
    );
  };
  addEventListener('keydown', (event) => {
    if (directions[event.code] === undefined || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    if (event.repeat) return;
    down.add(event.code);
    turn();
  });
  addEventListener('keyup', (event) => {
    if (down.delete(event.code)) turn();
  });
  addEventListener('blur', () => {
    if (down.size === 0) return;
    down.clear();
    turn();
  });
}

/** Steers towards the pointer while it is held. */
export function watchPointer(
  canvas: HTMLCanvasElement,
  steer: Steer,
  me: () => { readonly x: number; readonly y: number } | undefined,
): void {
  let goal: { readonly x: number; readonly y: number } | undefined;
  const follow = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    goal = { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale };
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    follow(event);
    head();
  });
  canvas.addEventListener('pointermove', (event) => {
    if (goal !== undefined) follow(event);
  });
  for (const end of ['pointerup', 'pointercancel'] as const) {
    canvas.addEventListener(end, () => {
      if (goal === undefined) return;
      goal = undefined;
      steer(0, 0);
    });
  }
  const head = () => {
    const from = me();
    if (goal === undefined) return;
    if (from !== undefined) {
      const [dx, dy] = [goal.x - from.x, goal.y - from.y];
      const far = Math.hypot(dx, dy);
      if (far < 20) steer(0, 0);
      else steer(dx / far, dy / far);
    }
    setTimeout(head, 100);
  };
}
