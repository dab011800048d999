import type { Banner } from "../lib/api";

/** Told is what the account's settings tell people, as plain text. */
export function Told({ banner }: { banner: Banner }) {
  return (
    <div className={`banner told ${banner.level}`} role={banner.level === "error" ? "alert" : "status"}>
      {banner.text}
    </div>
  );
}
