// Days that the server shows on Sydney's clock, because it doesn't know the customer's
// state, are shown on the device's.
function showDeviceDays() {
  for (const time of document.querySelectorAll("time[data-zone-unknown]")) {
    delete time.dataset.zoneUnknown;
    time.textContent = new Date(time.dateTime).toLocaleDateString(document.documentElement.lang, { dateStyle: "long" });
  }
}
showDeviceDays();
new MutationObserver(showDeviceDays).observe(document.body, { childList: true, subtree: true });
