module scrape

go 1.20
