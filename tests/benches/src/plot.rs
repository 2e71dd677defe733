//! Curves as SVG.

use std::path::Path;

use anyhow::Result;
use plotters::prelude::*;

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What the axes are called.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    pub title: &'static str,
    pub x: &'static str,
    pub y: &'static str,
}

/// Draws the curves over a logarithmic x.
///
/// # Errors
/// When the file cannot be written.
pub fn draw(path: &Path, axes: Axes, curves: &[Curve]) -> Result<()> {
    let points = || curves.iter().flat_map(|curve| curve.points.iter().copied());
    let left = points().map(|(x, _)| x).fold(f64::MAX, f64::min);
    let right = points().map(|(x, _)| x).fold(f64::MIN, f64::max);
    let top = points().map(|(_, y)| y).fold(0.0, f64::max) * 1.15;
    if left >= right {
        return Ok(());
    }
    let area = SVGBackend::new(path, (720, 420)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(axes.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d((left..right).log_scale(), 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc(axes.x)
        .y_desc(axes.y)
        .draw()?;
    for (at, curve) in curves.iter().enumerate() {
        let color = Palette99::pick(at).to_rgba();
        let line =
            LineSeries::new(curve.points.iter().copied(), color.stroke_width(2)).point_size(3);
        chart
            .draw_series(line)?
            .label(curve.name.clone())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}
