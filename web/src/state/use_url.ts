import { useEffect, useState } from "preact/hooks";
import { listen, params, type Params } from "./url";

export function useUrl(): Params {
  const [now, set] = useState(params());
  useEffect(() => {
    set(params());
    return listen(() => set(params()));
  }, []);
  return now;
}
